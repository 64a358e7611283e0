"""How long a launch takes."""
