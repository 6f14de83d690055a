// Files: reads and writes that end only when all is done, the last part of a path, bytes as text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "daemon/base/result.h"

namespace profd {

// All functions repeat what a signal interrupts. Any thread.

// From where the descriptor stands to the end. `name` is for messages. kExhausted: there are more
// than `max_bytes`.
[[nodiscard]] Result<std::string> ReadAll(int fd, std::string_view name, std::size_t max_bytes);

// The whole file at `path`; as above.
[[nodiscard]] Result<std::string> ReadFile(const std::string& path, std::size_t max_bytes);

// Fills `to` with the bytes of a file from `offset` on. Returns their number, which is less than
// wanted only at the end of the file. A failure is "<context>: <cause>".
[[nodiscard]] Result<std::size_t> ReadAt(int fd, std::uint64_t offset, std::span<char> to,
                                         std::string_view context);

// Returns errno of the failure; 0: all of `bytes` is written.
[[nodiscard]] int WriteAll(int fd, std::string_view bytes);

// "b" of "/a/b" and of "b"; "" of "/a/".
[[nodiscard]] std::string_view BaseName(std::string_view path);

// Two lower-case digits per byte: "\x7f" "E" is "7f45".
[[nodiscard]] std::string HexBytes(std::string_view bytes);

// "0x1f".
[[nodiscard]] std::string HexNumber(std::uint64_t number);

}  // namespace profd
