#include "daemon/server/grpc/convert/frame_operators.h"

#include "daemon/base/utf8.h"

namespace profd::server {
namespace {

static_assert(static_cast<int>(rules::Phase::kNone) == v1::PHASE_NONE);
static_assert(static_cast<int>(rules::Phase::kData) == v1::PHASE_DATA);
static_assert(static_cast<int>(rules::Phase::kForward) == v1::PHASE_FORWARD);
static_assert(static_cast<int>(rules::Phase::kBackward) == v1::PHASE_BACKWARD);
static_assert(static_cast<int>(rules::Phase::kOptimizer) == v1::PHASE_OPTIMIZER);
static_assert(static_cast<int>(rules::Phase::kCommunication) == v1::PHASE_COMMUNICATION);
static_assert(static_cast<int>(rules::Phase::kOther) == v1::PHASE_OTHER);

}  // namespace

void FrameOperators::Name(const rules::RuleSet* rules, const symbolize::Frame& from,
                          v1::Frame& to) {
  if (rules == nullptr || from.kind != symbolize::FrameKind::kNative) return;
  if (const auto name = rules->FindMethod(from)) to.set_name(ValidUtf8(*name));
}

void FrameOperators::Mark(const symbolize::Frame& from, v1::Frame& to) {
  if (rules_ == nullptr || from.kind == symbolize::FrameKind::kKernel) return;
  Name(rules_, from, to);
  if (const auto found = rules_->FindOperator(from)) to.set_op(Add(*found));
  to.set_phase(static_cast<v1::Phase>(rules_->FindPhase(from)));
}

std::uint32_t FrameOperators::Add(const rules::FrameOperator& found) {
  const auto next = static_cast<std::uint32_t>(proto_.operators_size()) + 1;
  const auto [known, is_new] = numbers_.emplace(found, next);
  if (is_new) {
    v1::Operator& added = *proto_.add_operators();
    added.set_name(ValidUtf8(found.name));
    added.set_rank(found.rank);
  }
  return known->second;
}

}  // namespace profd::server
