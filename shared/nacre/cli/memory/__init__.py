"""The commands about memory: `patrol`, `export`, `import`, `mirror`, `forget` and `reindex`."""
