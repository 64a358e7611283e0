"""What is shown of one request: which bank serves whom when, and the worst request."""
