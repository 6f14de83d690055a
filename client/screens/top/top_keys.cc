#include "client/screens/top/top_keys.h"

#include <array>
#include <cstddef>
#include <optional>
#include <utility>

namespace profd::client {
namespace {

constexpr char kEsc = '\x1b';

// What stands behind the escape.
constexpr std::array<std::pair<std::string_view, KeyKind>, 14> kSequences{{
    {"[A", KeyKind::kUp},
    {"[B", KeyKind::kDown},
    {"OA", KeyKind::kUp},
    {"OB", KeyKind::kDown},
    {"[5~", KeyKind::kPageUp},
    {"[6~", KeyKind::kPageDown},
    {"[H", KeyKind::kHome},
    {"[F", KeyKind::kEnd},
    {"OH", KeyKind::kHome},
    {"OF", KeyKind::kEnd},
    {"[1~", KeyKind::kHome},
    {"[4~", KeyKind::kEnd},
    {"[7~", KeyKind::kHome},
    {"[8~", KeyKind::kEnd},
}};

bool IsFinal(char byte) { return byte >= 0x40 && byte <= 0x7e; }

// Bytes of the sequence at the front of `text`, which starts with an escape; 0: not whole yet.
std::size_t SequenceLength(std::string_view text) {
  if (text.size() < 2) return 0;
  if (text[1] == 'O') return text.size() < 3 ? 0 : 3;
  if (text[1] != '[') return 1;  // the key Escape, and then something else
  for (std::size_t i = 2; i < text.size(); ++i)
    if (IsFinal(text[i])) return i + 1;
  return 0;
}

std::size_t CharacterLength(unsigned char first) {
  if (first >= 0xf0) return 4;
  if (first >= 0xe0) return 3;
  return first >= 0xc0 ? 2 : 1;
}

std::optional<Key> ControlKey(char byte) {
  switch (byte) {
    case '\r':
    case '\n':
      return Key{KeyKind::kEnter, ""};
    case '\x7f':
    case '\b':
      return Key{KeyKind::kBackspace, ""};
    case '\x03':
    case '\x04':
      return Key{KeyKind::kInterrupt, ""};
    case '\x0c':
      return Key{KeyKind::kRedraw, ""};
    default:
      return std::nullopt;
  }
}

std::optional<Key> SequenceKey(std::string_view sequence) {
  if (sequence.size() == 1) return Key{KeyKind::kEscape, ""};
  for (const auto& [text, kind] : kSequences)
    if (sequence.substr(1) == text) return Key{kind, ""};
  return std::nullopt;
}

}  // namespace

std::vector<Key> KeyReader::Read(std::string_view bytes) {
  kept_ += bytes;
  std::vector<Key> keys;
  std::size_t at = 0;
  while (at < kept_.size()) {
    const std::string_view rest = std::string_view(kept_).substr(at);
    const auto first = static_cast<unsigned char>(rest.front());
    std::size_t length = 1;
    std::optional<Key> key;
    if (rest.front() == kEsc) {
      length = SequenceLength(rest);
      if (length == 0) break;
      key = SequenceKey(rest.substr(0, length));
    } else if (first < 0x20 || first == 0x7f) {
      key = ControlKey(rest.front());
    } else {
      length = CharacterLength(first);
      if (length > rest.size()) break;
      key = Key{KeyKind::kText, std::string(rest.substr(0, length))};
    }
    if (key) keys.push_back(*std::move(key));
    at += length;
  }
  kept_.erase(0, at);
  return keys;
}

std::vector<Key> KeyReader::Flush() {
  const bool escape = kept_ == std::string(1, kEsc);
  kept_.clear();
  return escape ? std::vector<Key>{{KeyKind::kEscape, ""}} : std::vector<Key>{};
}

}  // namespace profd::client
