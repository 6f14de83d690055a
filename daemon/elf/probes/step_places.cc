#include "daemon/elf/probes/step_places.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>

namespace profd::elf {
namespace {

using source::StepPlace;

// Functions of a framework that begin and end what it names.
struct Function {
  const char* symbol;
  profd_step_naming naming = PROFD_STEP_NO_NAME;
  bool end = false;
  bool object = false;
};

// record_function_enter_new(const std::string&, const std::optional<std::string>&). It returns an
// object by a hidden first argument.
constexpr std::array kOfTorch{
    Function{"_ZN5torch8autograd8profiler25record_function_enter_newERKNSt7__cxx1112basic_"
             "stringIcSt11char_traitsIcESaIcEEERKSt8optionalIS7_E",
             PROFD_STEP_STRING},
    // c10::optional, before 2.5
    Function{"_ZN5torch8autograd8profiler25record_function_enter_newERKNSt7__cxx1112basic_"
             "stringIcSt11char_traitsIcESaIcEEERKN3c108optionalIS7_EE",
             PROFD_STEP_STRING},
    // The same with the older std::string, as in wheels before 2.6.
    Function{"_ZN5torch8autograd8profiler25record_function_enter_newERKSsRKSt8optionalISsE",
             PROFD_STEP_COW_STRING},
    Function{"_ZN5torch8autograd8profiler25record_function_enter_newERKSsRKN3c108optionalISsEE",
             PROFD_STEP_COW_STRING},
    Function{.symbol = "_ZN5torch8autograd8profilerL24record_function_exit_newERKN3c1013intrusive_"
                       "ptrINS1_20PythonRecordFunctionENS2_6detail34intrusive_target_default_null_"
                       "typeIS4_EEEE",
             .end = true}};

// phi::RecordEvent(name, type, level, role), and with attributes behind the name. A destructor
// calls End once more.
constexpr std::array kOfPaddle{
    Function{.symbol = "_ZN3phi11RecordEventC1EPKcNS_15TracerEventTypeEjNS_9EventRoleE",
             .naming = PROFD_STEP_TEXT,
             .object = true},
    Function{.symbol = "_ZN3phi11RecordEventC1ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIc"
                       "EEENS_15TracerEventTypeEjNS_9EventRoleE",
             .naming = PROFD_STEP_STRING,
             .object = true},
    Function{.symbol = "_ZN3phi11RecordEventC1ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIc"
                       "EEES8_NS_15TracerEventTypeEjNS_9EventRoleE",
             .naming = PROFD_STEP_STRING,
             .object = true},
    Function{.symbol = "_ZN3phi11RecordEvent3EndEv", .end = true, .object = true}};

std::span<const Function> FunctionsOf(session::StepSpec::Kind kind) {
  if (kind == session::StepSpec::Kind::kRecordEvent) return kOfPaddle;
  return kOfTorch;
}

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
  if (spec.kind == session::StepSpec::Kind::kFunction) {
    const auto found = client_.Functions(id, user, {spec.name});
    if (!found) return found.error();
    if (found->empty() || !found->front()) return NotThere("the file has no function " + spec.name);
    places.push_back({.offset = found->front()->offset});
    return places;
  }
  const auto functions = FunctionsOf(spec.kind);
  std::vector<std::string> names;
  for (const Function& function : functions) names.emplace_back(function.symbol);
  const auto found = client_.Functions(id, user, names, ProbeClient::Kind::kEntries);
  if (!found) return found.error();
  for (std::size_t i = 0; i < std::min(found->size(), functions.size()); ++i) {
    const Function& function = functions[i];
    // An end without a begin says nothing.
    if (!(*found)[i] || (function.end && places.empty())) continue;
    places.push_back({.offset = (*found)[i]->offset,
                      .naming = function.naming,
                      .end = function.end,
                      .object = function.object});
  }
  if (places.empty())
    return NotThere(spec.kind == session::StepSpec::Kind::kRecordEvent
                        ? "this PaddlePaddle has no phi::RecordEvent"
                        : "this PyTorch does not call record_function_enter_new");
  return places;
}

}  // namespace profd::elf
