#include "client/fleet/row_reader.h"

#include <cmath>
#include <cstring>

namespace profd::client {

Result<void> RowReader::error() const {
  if (!failed_) return {};
  return Error{ErrorCode::kCorrupt, "the answer of the fleet's database makes no sense",
               "is it ClickHouse, and are its tables those of profctl fleet schema?"};
}

std::string_view RowReader::Take(std::size_t bytes) {
  if (failed_ || bytes > left_.size()) {
    failed_ = true;
    return {};
  }
  const std::string_view taken = left_.substr(0, bytes);
  left_.remove_prefix(bytes);
  return taken;
}

template <typename Number>
Number RowReader::Plain() {
  const std::string_view bytes = Take(sizeof(Number));
  Number number{};  // little-endian, as all machines that profd runs on
  if (!bytes.empty()) std::memcpy(&number, bytes.data(), sizeof number);
  return number;
}

std::uint8_t RowReader::Byte() { return Plain<std::uint8_t>(); }
std::uint32_t RowReader::Number32() { return Plain<std::uint32_t>(); }
std::uint64_t RowReader::Number64() { return Plain<std::uint64_t>(); }

double RowReader::Real() {
  const auto real = Plain<double>();
  if (std::isfinite(real)) return real;
  failed_ = true;
  return 0;
}

std::uint64_t RowReader::Length() {
  constexpr unsigned kBits = 7;
  constexpr unsigned kMostBits = 28;  // no length here is longer
  std::uint64_t length = 0;
  for (unsigned shift = 0; shift < kMostBits; shift += kBits) {
    const std::uint8_t byte = Byte();
    length |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return length;
  }
  failed_ = true;
  return 0;
}

std::string RowReader::Text() {
  const std::uint64_t length = Length();
  if (length <= kMaxTextBytes) return std::string(Take(length));
  failed_ = true;
  return {};
}

std::size_t RowReader::Count() {
  const std::uint64_t count = Length();
  if (!failed_ && count <= kMaxItems) return count;
  failed_ = true;
  return 0;
}

std::vector<std::string> TextsOf(RowReader& reader) {
  std::vector<std::string> texts(reader.Count());
  for (std::string& text : texts) text = reader.Text();
  return texts;
}

}  // namespace profd::client
