"""Texts, files, mistakes, units and trends: the ground, without a word of this field."""
