"""Fifteen variants in pairs on a wired and wireless network (Rodríguez Herlein et al.): published and our matrices."""
