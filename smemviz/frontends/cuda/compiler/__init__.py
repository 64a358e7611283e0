"""NVRTC: asked, and run in processes of their own."""
