// Command lines that a user can paste next. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/tensor.h"

namespace ridge::app {

// `text` as one word of a shell.
std::string shell_word(std::string_view text);

// A kept command line again, with its document in `file`: without the outputs that it had, and with `-o file`. `ridge
// tune`, whose -o is the repository, stays as it was.
std::string repeated(std::string_view line, std::string_view file);

// Sends the model one request that it accepts, on this machine. Open dimensions get likely sizes. An input without a
// JSON form (FP16, BF16): asks for the model's description instead. `sequence`: the request is one of its own.
std::string request_line(const std::string& host, const std::string& model, std::span<const TensorSpec> inputs,
                         const std::string& client_options = "", bool sequence = false);

// Has a language model answer a message, or continue a text where it does not chat.
std::string text_line(const std::string& host, const std::string& model, const std::string& client_options = "",
                      bool chats = false);

}  // namespace ridge::app
