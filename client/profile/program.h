// What makes several processes the same to a reader: processes of one program.
#pragma once

#include <string>
#include <string_view>

#include "profd/v1/profile.pb.h"

namespace profd::client {

// "pool-12" -> "pool-*": what differs in numbers only.
[[nodiscard]] std::string WithoutNumbers(std::string_view name);

// Equal for processes of one program: the same name and the same first words of the command line
// but for numbers. These are the interpreter and its script, or "postgres: user database".
[[nodiscard]] std::string ProgramOf(const v1::Process& process);

}  // namespace profd::client
