// TopKeys: what a person types at a terminal, from the bytes that it sends.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace profd::client {

enum class KeyKind {
  kText,  // a character
  kEnter,
  kEscape,
  kBackspace,
  kUp,
  kDown,
  kPageUp,
  kPageDown,
  kHome,
  kEnd,
  kInterrupt,  // Ctrl-C, Ctrl-D
  kRedraw,     // Ctrl-L
};

struct Key {
  KeyKind kind = KeyKind::kText;
  std::string text;  // of kText: one character of UTF-8

  bool operator==(const Key&) const = default;
};

// Bytes may come in pieces: what is not whole yet is kept. Unknown sequences are no keys.
class KeyReader {
 public:
  [[nodiscard]] std::vector<Key> Read(std::string_view bytes);
  // An escape has come and nothing behind it: after a moment without more, call Flush.
  [[nodiscard]] bool pending() const { return !kept_.empty(); }
  [[nodiscard]] std::vector<Key> Flush();

 private:
  std::string kept_;
};

}  // namespace profd::client
