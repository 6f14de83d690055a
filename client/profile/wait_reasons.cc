#include "client/profile/wait_reasons.h"

#include <iterator>

namespace profd::client {
namespace {

constexpr WaitReasonEntry kReasons[] = {
    {v1::WAIT_NONE, "[blocked]"},
    {v1::WAIT_LOCK, "[blocked:lock]", "#2b3a8f", "#8b98f5"},
    {v1::WAIT_GIL, "[blocked:gil]", "#7048a8", "#dcbcff"},
    {v1::WAIT_IO, "[blocked:io]", "#1a6a97", "#58b4e6"},
    {v1::WAIT_DRIVER, "[blocked:driver]", "#0b7474", "#4fc9c4"},
    {v1::WAIT_KERNEL, "[blocked:kernel]", "#3d4f66", "#c3ccd6"},
    {v1::WAIT_SLEEP, "[blocked:sleep]", "#a9bdd4", "#566a86", true},
    {v1::WAIT_POLL, "[blocked:poll]", "#a9bdd4", "#566a86", true},
    {v1::WAIT_NET, "[blocked:net]", "#3463c4", "#7ea6ff"},
    {v1::WAIT_PIPE, "[blocked:pipe]", "#6070b4", "#b7c1f0"},
    {v1::WAIT_CHILD, "[blocked:child]", "#4b2e63", "#9d86d6"},
    {v1::WAIT_FAULT, "[blocked:fault]", "#1a6a97", "#58b4e6"},
    {v1::WAIT_OTHER, "[blocked:other]"},
};

constexpr bool IsInOrder() {
  for (std::size_t i = 0; i < std::size(kReasons); ++i)
    if (kReasons[i].reason != static_cast<v1::WaitReason>(i)) return false;
  return true;
}
static_assert(std::size(kReasons) == v1::WaitReason_ARRAYSIZE, "an entry for each reason");
static_assert(IsInOrder(), "entries are in the order of v1::WaitReason");

}  // namespace

std::span<const WaitReasonEntry> WaitReasons() { return kReasons; }

const WaitReasonEntry& EntryOf(v1::WaitReason reason) {
  return kReasons[v1::WaitReason_IsValid(reason) ? reason : v1::WAIT_OTHER];
}

}  // namespace profd::client
