// Normalises text for comparison: typed and pasted text differs in case, blanks, quotes and dashes.
#pragma once

#include <string>
#include <string_view>

namespace ridge::explain {

// For names: lower case without blanks, quotes and ASCII punctuation other than '+', '#' and '%'; "KV-Cache",
// "kv_cache" and "kvcache" become the same. Bytes above 0x7F stay as they are, but full-width ASCII (U+FF01 … U+FF5E)
// becomes ASCII.
std::string plain(std::string_view name);

// For messages: collapses blanks, keeps line breaks, converts typographic quotes and dashes to ASCII, drops terminal
// colours, blanks other control characters: safe to show on a terminal. As long as the text or shorter. Keeps case, so
// that matches can be shown as written.
std::string message_text(std::string_view text);

}  // namespace ridge::explain
