#include "daemon/fleet/profile/settings.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "daemon/base/files.h"
#include "daemon/base/utf8.h"

namespace profd::fleet {
namespace {

constexpr std::size_t kMaxHeaderBytes = 64u << 10;

// What gRPC takes, in lower case.
bool IsNamePart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

bool IsPrintable(char c) { return c >= ' ' && c <= '~'; }

}  // namespace

ExportSettings WithoutCompression(ExportSettings settings) {
  settings.compression = Compression::kNone;
  return settings;
}

Result<std::vector<Header>> ReadHeaders(const std::vector<std::string>& files,
                                        std::string_view key) {
  std::vector<Header> headers;
  for (const std::string& file : files) {
    const auto text = ReadFile(file, kMaxHeaderBytes);
    if (!text) return text.error().Wrap(key);
    std::size_t number = 0;
    for (std::string_view rest = *text; !rest.empty();) {
      ++number;
      const std::size_t end = rest.find('\n');
      const std::string_view line = Trimmed(rest.substr(0, end));
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
      if (line.empty() || line.starts_with('#')) continue;
      const std::size_t colon = line.find(':');
      Header header;
      if (colon != std::string_view::npos) {
        for (const char c : Trimmed(line.substr(0, colon)))
          header.name += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
        header.value = Trimmed(line.substr(colon + 1));
      }
      if (header.name.empty() || !std::ranges::all_of(header.name, IsNamePart) ||
          !std::ranges::all_of(header.value, IsPrintable))
        return Error{ErrorCode::kInvalidArgument,
                     file + ":" + std::to_string(number) + ": no header; write 'name: value'", ""};
      headers.push_back(std::move(header));
    }
  }
  return headers;
}

}  // namespace profd::fleet
