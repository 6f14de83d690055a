#include "daemon/elf/probes/step_places.h"

#include <array>
#include <cstddef>
#include <string>

namespace profd::elf {
namespace {

using source::StepPlace;

// record_function_enter_new(const std::string&, const std::optional<std::string>&). It returns an
// object by a hidden first argument.
struct Enter {
  const char* symbol;
  profd_step_naming naming;
};
constexpr std::array kEnters{
    Enter{"_ZN5torch8autograd8profiler25record_function_enter_newERKNSt7__cxx1112basic_stringIcSt11"
          "char_traitsIcESaIcEEERKSt8optionalIS7_E",
          PROFD_STEP_STRING},
    // c10::optional, before 2.5
    Enter{"_ZN5torch8autograd8profiler25record_function_enter_newERKNSt7__cxx1112basic_stringIcSt11"
          "char_traitsIcESaIcEEERKN3c108optionalIS7_EE",
          PROFD_STEP_STRING},
    // The same with the older std::string, as in wheels before 2.6.
    Enter{"_ZN5torch8autograd8profiler25record_function_enter_newERKSsRKSt8optionalISsE",
          PROFD_STEP_COW_STRING},
    Enter{"_ZN5torch8autograd8profiler25record_function_enter_newERKSsRKN3c108optionalISsEE",
          PROFD_STEP_COW_STRING}};
constexpr const char* kExit =
    "_ZN5torch8autograd8profilerL24record_function_exit_newERKN3c1013intrusive_ptrINS1_"
    "20PythonRecor"
    "dFunctionENS2_6detail34intrusive_target_default_null_typeIS4_EEEE";

ObjectId IdOf(const source::ExecutableFile& file) {
  return {.path = file.path,
          .device_major = file.device_major,
          .device_minor = file.device_minor,
          .inode = file.inode,
          .pid = file.pid,
          .map_start = file.begin,
          .map_end = file.end};
}

Error NotThere(const std::string& what) {
  return Error{ErrorCode::kNotFound, what,
               "see its functions: readelf -sW FILE, and its static probes: readelf -n FILE"};
}

}  // namespace

Result<std::vector<StepPlace>> StepPlaces::Find(const source::ExecutableFile& file,
                                                const session::StepSpec& spec) {
  const ObjectId id = IdOf(file);
  const std::uint32_t user = reader::UserOf(file.pid);
  std::vector<StepPlace> places;
  if (spec.kind == session::StepSpec::Kind::kUsdt) {
    const auto found = client_.StaticProbe(id, user, spec.provider, spec.name);
    if (!found) return found.error();
    for (const ProbePlace& place : *found)
      places.push_back({.offset = place.offset, .semaphore = place.semaphore});
    if (places.empty())
      return NotThere("the file has no static probe " + spec.provider + ":" + spec.name);
    return places;
  }
  std::vector<std::string> names;
  const bool function = spec.kind == session::StepSpec::Kind::kFunction;
  if (function) {
    names.push_back(spec.name);
  } else {
    for (const Enter& enter : kEnters) names.emplace_back(enter.symbol);
    names.emplace_back(kExit);
  }
  const auto found = client_.Functions(id, user, names);
  if (!found) return found.error();
  for (std::size_t i = 0; i < found->size(); ++i) {
    if (!(*found)[i]) continue;
    const bool end = !function && i == kEnters.size();
    // An end without a begin says nothing.
    if (end && places.empty()) continue;
    places.push_back({.offset = (*found)[i]->offset,
                      .naming = function || end ? PROFD_STEP_NO_NAME : kEnters.at(i).naming,
                      .end = end});
  }
  if (places.empty())
    return NotThere(function ? "the file has no function " + spec.name
                             : "this PyTorch does not call record_function_enter_new");
  return places;
}

}  // namespace profd::elf
