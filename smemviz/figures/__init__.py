"""Pictures: Plotly and nothing else."""
