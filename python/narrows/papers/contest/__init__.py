"""Fifteen variants in pairs on a wired and wireless network (Rodríguez Herlein et al.): both matrices, five pairs, three behaviours."""
