"""Back ends of the memory index. Only `haru.app` chooses one."""
