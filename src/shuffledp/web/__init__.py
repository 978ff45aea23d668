"""The local page: a server for this machine alone, and the page that it serves.

It knows how to ask, to wait and to refuse; what is asked comes from the command line.
"""

from shuffledp.web.app import create_app
from shuffledp.web.reply import Reply
from shuffledp.web.served import Parameter, Served
from shuffledp.web.server import listen, serve

__all__ = ["Parameter", "Reply", "Served", "create_app", "listen", "serve"]
