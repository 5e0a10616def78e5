"""A program stock and preloaded by turns: does allemande help it, and where?"""
