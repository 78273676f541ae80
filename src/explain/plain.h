// Normalises text for comparison: typed and pasted text differs in case, blanks, quotes and dashes.
#pragma once

#include <string>
#include <string_view>

namespace ridge::explain {

// For names: lower case without blanks, quotes and ASCII punctuation other than '+', '#' and '%'; "KV-Cache",
// "kv_cache" and "kvcache" become the same. Bytes above 0x7F stay as they are, but full-width ASCII (U+FF01 … U+FF5E)
// becomes ASCII.
std::string plain(std::string_view name);

// For messages: runs of blanks one blank, line breaks kept, typographic quotes and dashes made ASCII, terminal
// colours dropped, other control characters blank: it may be shown on a terminal. As long as the text or shorter. Case
// stays, so that what was found can be shown as it was written.
std::string message_text(std::string_view text);

}  // namespace ridge::explain
