"""The dashboard for a WSGI server: ``smemviz.wsgi:app``, told by variables of the environment what to serve."""

import os

from smemviz.app.factory import create_server
from smemviz.app.server.settings import Settings

app = create_server(Settings.read(os.environ))
