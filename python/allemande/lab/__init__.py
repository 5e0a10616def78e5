from allemande.lab.session import Lab

__all__ = ["Lab"]
