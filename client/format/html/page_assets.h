// The scripts and styles of the page, as the build has bundled them (client/web/page).
#pragma once

#include <string_view>

namespace profd::client {

extern const std::string_view kPageScript;
extern const std::string_view kPageStyle;
// Of the page that profctl web serves: all of the script, and what its style adds.
extern const std::string_view kServedScript;
extern const std::string_view kServedStyle;

}  // namespace profd::client
