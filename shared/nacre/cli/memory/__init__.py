"""The commands about memory: `patrol`, `export`, `import`, `forget` and `reindex`."""
