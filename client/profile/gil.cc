#include "client/profile/gil.h"

#include <string>

#include "client/profile/check_profile.h"
#include "client/profile/copy_sample.h"
#include "client/profile/stack_names.h"

namespace profd::client {
namespace {

// Nobody held the GIL: most often since there is no interpreter that is understood.
Error NobodyHeldIt(const v1::Profile& profile) {
  Error error{ErrorCode::kNotFound, "no data: nothing is known of a Python interpreter there",
              "--gil is for CPython; without it all time is shown"};
  for (const v1::Process& process : profile.processes()) {
    if (process.python().empty()) continue;
    error.message = "no data: no sample has the GIL";
    if (process.python_refused().empty()) continue;
    error.message = "no data: " + ProcessName(process) + ": " + SafeName(process.python_refused());
    return error;
  }
  return error;
}

}  // namespace

v1::Gil GilOf(const v1::Samples& samples, int index) {
  if (samples.gil_size() == 0) return v1::GIL_NONE;
  const v1::Gil gil = samples.gil(index);
  return v1::Gil_IsValid(gil) ? gil : v1::GIL_UNKNOWN;
}

Result<v1::Profile> OnlyGil(const v1::Profile& profile) {
  PROFD_TRY(CheckProfile(profile));
  if (profile.only_gil()) return profile;
  v1::Profile held = profile;
  held.clear_samples();
  held.set_only_gil(true);
  const v1::Samples& samples = profile.samples();
  std::uint64_t unknown = 0;
  for (int i = 0; i < samples.weight_ns_size(); ++i) {
    const v1::Gil gil = GilOf(samples, i);
    if (gil == v1::GIL_UNKNOWN) unknown += samples.count(i);
    if (gil == v1::GIL_HELD) CopySample(samples, i, *held.mutable_samples());
  }
  if (held.samples().weight_ns_size() == 0) return NobodyHeldIt(profile);
  if (unknown == 0) return held;
  v1::NamedCount& note = *held.add_counters();
  note.set_name("gil_unknown");
  note.set_text("samples left out: nobody could tell whether they held the GIL");
  note.set_count(unknown);
  return held;
}

}  // namespace profd::client
