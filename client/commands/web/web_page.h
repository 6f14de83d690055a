// WebPage: the files of the page as profctl web serves it.
#pragma once

#include <optional>
#include <string_view>

#include "client/web/server/web_server.h"

namespace profd::client {

// "/", "/page.js", "/page.css". None: there is no such file.
[[nodiscard]] std::optional<WebAnswer> WebPage(std::string_view path);

}  // namespace profd::client
