#include "client/screens/summary/stack_facts.h"

#include "client/text/number.h"

namespace profd::client {

StackFacts StackFactsOf(const v1::Profile& profile) {
  StackFacts facts;
  const v1::Samples& samples = profile.samples();
  for (int i = 0; i < samples.node_size(); ++i) {
    if (samples.node(i) == 0 || (samples.stack_flags(i) & kStackHasNoUserPart) != 0) continue;
    facts.stacks += samples.count(i);
    if ((samples.stack_flags(i) & kStackByFramePointer) != 0)
      facts.by_frame_pointer += samples.count(i);
  }
  return facts;
}

std::string FramePointerText(const StackFacts& facts) {
  return FormatCount(facts.by_frame_pointer) + " of " + FormatCount(facts.stacks) +
         " stacks go on by frame pointer";
}

}  // namespace profd::client
