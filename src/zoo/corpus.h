// The texts that the reference language models' tokenizer is learnt from: those of `ridge explain`, in English and Chinese, and the documents.
#pragma once

#include <string_view>
#include <vector>

namespace ridge::zoo {

std::vector<std::string_view> corpus();

// The text of docs/<name>.md, and of this folder's chat_template.jinja; empty when there is none.
std::string_view document(std::string_view name);

}  // namespace ridge::zoo
