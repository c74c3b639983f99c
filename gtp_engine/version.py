"""Which Nobi this is; setup.cfg reads it from here."""

VERSION = "0.1.0"
