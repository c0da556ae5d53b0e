"""Language models behind `haru.ports.ChatModel`."""
