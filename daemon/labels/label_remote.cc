#include "daemon/labels/label_remote.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "daemon/reader/message.h"

namespace profd::labels {
namespace {

using reader::Packer;
using reader::Unpacker;

constexpr std::uint64_t kTarget = 0x6c61'6265'6c73;  // apart from other requests for a process

Error Nonsense() {
  return Error{ErrorCode::kCorrupt, "the answer about a process's labels makes no sense", ""};
}

std::string Pack(const std::optional<LabelFacts>& facts) {
  Packer answer;
  answer.Number(facts.has_value());
  if (!facts) return answer.Take();
  answer.Number(facts->variable.offset).Number(facts->variable.module);
  answer.Number(facts->variable.entry_bytes).Text(facts->refused);
  answer.Number(static_cast<std::uint32_t>(facts->keys.size()));
  for (const std::string& key : facts->keys) answer.Text(key);
  return answer.Take();
}

Result<std::optional<LabelFacts>> Unpack(std::string_view bytes) {
  Unpacker fields(bytes);
  if (!fields.Number<bool>()) {
    if (!fields.done()) return Nonsense();
    return std::optional<LabelFacts>();
  }
  LabelFacts facts;
  facts.variable.offset = fields.Number<std::int64_t>();
  facts.variable.module = fields.Number<std::uint32_t>();
  facts.variable.entry_bytes = fields.Number<std::uint32_t>();
  facts.refused = fields.Text();
  facts.keys.resize(
      std::min<std::uint32_t>(fields.Count(sizeof(std::uint32_t)), PROFD_MAX_LABEL_KEYS));
  for (std::string& key : facts.keys) {
    key = fields.Text();
    if (key.size() > source::ProcessContext::kMaxNameBytes) return Nonsense();
  }
  const bool fits = facts.variable.entry_bytes == 8 || facts.variable.entry_bytes == 16;
  if (!fields.done() || !fits || !reader::IsShowable(facts.refused)) return Nonsense();
  return std::optional(std::move(facts));
}

}  // namespace

Result<std::string> LabelParser::Answer(std::string_view request, reader::ParserContext context) {
  Unpacker fields(request);
  const auto pid = fields.Number<std::uint32_t>();
  (void)fields.Number<std::uint64_t>();  // only so that requests for other processes differ
  if (!fields.done()) return Error{ErrorCode::kInvalidArgument, "no such request", ""};
  const auto facts = finder_.Find(context.opener, pid);
  if (!facts) return facts.error();
  return Pack(*facts);
}

Result<std::optional<LabelFacts>> LabelClient::Find(ProcessKey process,
                                                    std::chrono::milliseconds patience) {
  const auto answer =
      readers_.Ask({.body = Packer().Number(process.pid).Number(process.start_ns).Take(),
                    .name = "labels of process " + std::to_string(process.pid),
                    .target = MixBits(process.start_ns ^ MixBits(process.pid)) ^ MixBits(kTarget),
                    .user = reader::UserOf(process.pid),
                    .descriptors = {}},
                   patience);
  if (!answer) return answer.error();
  return Unpack(*answer);
}

}  // namespace profd::labels
