"""The web server of the dashboard: whom it answers, and what it takes."""
