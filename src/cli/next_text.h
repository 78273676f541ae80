// The end of a verb's text: what to do next, as lines that can be pasted.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ridge::cli {

// To stdout, after an empty line; nothing for no lines, or with --quiet.
void print_next(const std::vector<std::string>& lines, std::string_view heading = "next:");
// That measures again what a document of `line` has, and if it is `comparable`, compares the two.
std::vector<std::string> again_lines(const std::string& line, const std::string& file, bool comparable);
// "m.onnx --shape sequence=128 --device cuda:0": a model as it was given to a verb. `device` may be empty.
std::string model_words(const std::string& model, const std::vector<std::string>& shapes, const std::string& device);

}  // namespace ridge::cli
