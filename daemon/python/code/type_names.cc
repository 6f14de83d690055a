#include "daemon/python/code/type_names.h"

#include <string_view>

#include "daemon/python/code/layout.h"

namespace profd::python {
namespace {

constexpr std::array<std::string_view, TypeNames::kKinds> kNames{"code", "str", "bytes"};
constexpr std::size_t kMaxNameBytes = 8;

}  // namespace

bool TypeNames::Is(std::uint64_t object, Kind kind) {
  std::uint64_t type = 0;
  if (object == 0 || !memory_.Get(object + kObjectType, &type) || type == 0) return false;
  std::uint64_t& known = types_.at(kind);
  if (known != 0) return type == known;
  std::uint64_t name = 0;
  if (!memory_.Get(type + kTypeName, &name) ||
      memory_.ReadText(name, kMaxNameBytes) != kNames.at(kind))
    return false;
  known = type;
  return true;
}

}  // namespace profd::python
