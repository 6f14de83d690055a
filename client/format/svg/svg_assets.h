// The style and the script of the svg, from the files beside this one.
#pragma once

#include <string_view>

namespace profd::client {

extern const std::string_view kSvgStyle;   // valid inside <style>: holds no markup
extern const std::string_view kSvgScript;  // valid inside CDATA

}  // namespace profd::client
