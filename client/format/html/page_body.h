// PageBody: what the page's script fills.
#pragma once

#include <string>
#include <string_view>

namespace profd::client {

// Elements of a body, without script and data. `without_script` stands there where none runs.
[[nodiscard]] std::string PageBody(std::string_view without_script);

}  // namespace profd::client
