// Texts of ridge: those of `ridge explain`, English and Chinese, and the documents. They judge language models.
#pragma once

#include <string_view>
#include <vector>

namespace ridge::zoo {

std::vector<std::string_view> corpus();

// The text of docs/<name>.md, and of this folder's chat_template.jinja and merges.txt; empty when there is none.
std::string_view document(std::string_view name);

}  // namespace ridge::zoo
