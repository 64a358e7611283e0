"""What the pictures share: style, text, cells."""
