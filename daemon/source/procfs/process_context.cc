#include "daemon/source/procfs/process_context.h"

#include <optional>

#include "bpf/shared/labels.h"

namespace profd::source {
namespace {

constexpr std::string_view kSignature = "OTEL_CTX";
constexpr std::uint32_t kVersion = 2;
constexpr std::string_view kSchema = "threadlocal.schema_version";
constexpr std::string_view kKeyMap = "threadlocal.attribute_key_map";

// Numbers of fields in opentelemetry/proto/resource/v1/resource.proto and common/v1/common.proto.
constexpr std::uint32_t kResourceAttributes = 1;
constexpr std::uint32_t kKeyValueKey = 1;
constexpr std::uint32_t kKeyValueValue = 2;
constexpr std::uint32_t kAnyString = 1;
constexpr std::uint32_t kAnyArray = 5;
constexpr std::uint32_t kArrayValues = 1;

// The fields of one message, in protobuf's wire format. Only those that have a length have bytes.
class Fields {
 public:
  struct Field {
    std::uint32_t number = 0;
    std::optional<std::string_view> bytes;
  };

  explicit Fields(std::string_view message) : rest_(message) {}

  // Nothing: the end, or what comes is damaged, see `ok`.
  std::optional<Field> Next() {
    if (rest_.empty()) return std::nullopt;
    const auto tag = Varint();
    if (!tag) return Fail();
    Field field{static_cast<std::uint32_t>(*tag >> 3), std::nullopt};
    switch (*tag & 7) {
      case 0:
        return Varint() ? std::optional(field) : Fail();
      case 1:
        return Take(8) ? std::optional(field) : Fail();
      case 2: {
        const auto length = Varint();
        if (length) field.bytes = Take(*length);
        return field.bytes ? std::optional(field) : Fail();
      }
      case 5:
        return Take(4) ? std::optional(field) : Fail();
      default:
        return Fail();
    }
  }
  [[nodiscard]] bool ok() const { return ok_; }

 private:
  std::optional<std::uint64_t> Varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<std::uint8_t>(rest_.front());
      rest_.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    return std::nullopt;
  }
  std::optional<std::string_view> Take(std::uint64_t bytes) {
    if (bytes > rest_.size()) return std::nullopt;
    const std::string_view taken = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return taken;
  }
  std::optional<Field> Fail() {
    ok_ = false;
    return std::nullopt;
  }

  std::string_view rest_;
  bool ok_ = true;
};

// The last field of this number; "": there is none.
std::string_view BytesOf(std::string_view message, std::uint32_t number) {
  std::string_view bytes;
  Fields fields(message);
  while (const auto field = fields.Next())
    if (field->number == number && field->bytes) bytes = *field->bytes;
  return bytes;
}

std::vector<std::string> ParseKeys(std::string_view array) {
  std::vector<std::string> keys;
  Fields values(array);
  while (const auto value = values.Next()) {
    if (value->number != kArrayValues || !value->bytes) continue;
    if (keys.size() == PROFD_MAX_LABEL_KEYS) break;
    keys.emplace_back(BytesOf(*value->bytes, kAnyString).substr(0, ProcessContext::kMaxNameBytes));
  }
  return keys;
}

Error Corrupt(const char* what) {
  return Error{ErrorCode::kCorrupt, std::string("process context: ") + what, ""};
}

}  // namespace

bool MayHoldContext(std::string_view path) {
  return path.starts_with("/memfd:OTEL_CTX") || path.starts_with("[anon_shmem:OTEL_CTX") ||
         path.starts_with("[anon:OTEL_CTX");
}

Result<void> CheckHeader(const ProcessContextHeader& header) {
  if (std::string_view(header.signature, sizeof header.signature) != kSignature)
    return Corrupt("its signature is missing");
  if (header.version != kVersion) return Corrupt("of another version than 2");
  if (header.published_ns == 0)
    return Error{ErrorCode::kUnavailable, "process context: it is being written", ""};
  if (header.payload_bytes > ProcessContext::kMaxPayloadBytes)
    return Corrupt("longer than 256 KiB");
  return {};
}

Result<ProcessContext> ParsePayload(std::string_view bytes) {
  ProcessContext context;
  Fields resource(bytes);
  while (const auto attribute = resource.Next()) {
    if (attribute->number != kResourceAttributes || !attribute->bytes) continue;
    const std::string_view key = BytesOf(*attribute->bytes, kKeyValueKey);
    const std::string_view value = BytesOf(*attribute->bytes, kKeyValueValue);
    if (key == kSchema)
      context.schema = BytesOf(value, kAnyString).substr(0, ProcessContext::kMaxNameBytes);
    else if (key != kKeyMap)
      AddAttribute(key, BytesOf(value, kAnyString), context.attributes);
    if (key == kKeyMap) context.keys = ParseKeys(BytesOf(value, kAnyArray));
  }
  if (!resource.ok()) return Corrupt("its payload is no protobuf message");
  return context;
}

}  // namespace profd::source
