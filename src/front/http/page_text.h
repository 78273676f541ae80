// The texts that the server carries: src/front/http/page/NAME.*, whole; empty where there is none.
#pragma once

#include <string_view>

namespace ridge::front::http {

std::string_view page_text(std::string_view name);

}  // namespace ridge::front::http
