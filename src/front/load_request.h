// The parameters of a request to load a model, whose configuration and files may come with it. Pure.
#pragma once

#include <string>

#include "base/result.h"
#include "serve/service.h"

namespace ridge::front {

// True if the parameter's key says that its value is a file: "file:VERSION/NAME".
bool names_file(std::string_view key);
// kInvalid: a path that leads out of the model's folder.
Status add_file(serve::LoadRequest& request, const std::string& key, std::string content);
// For a key that is neither "config" nor a file.
Error unknown_load_parameter(const std::string& key);
// Checks the whole request.
Status check_load(const serve::LoadRequest& request);

}  // namespace ridge::front
