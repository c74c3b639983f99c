"""Which Nobi this is; setup.cfg reads it from here."""

VERSION = "0.1.0"

GTP_VERSION = "1.17.0"
"""What GTP's `version`, unless told otherwise, and the JSON engine's `query_version` answer: the KataGo whose formats
are spoken here.

GUIs read the number as Leela Zero's or KataGo's and leave out what that version could not do. Lizzie warns below 0.15,
LizzieYzy asks for movesOwnership above 1.10."""
