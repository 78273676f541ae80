// For tests of this folder: a configuration's text completed from a model's signature, its settings, or why it is
// refused.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "serve/config_complete.h"
#include "serve/config_json.h"
#include "serve/config_text.h"
#include "serve/settings_from_config.h"

namespace ridge::serve {

using engine::Signature;

inline const Signature kImage = {{{"x", DataType::kFp32, {-1, 3, -1}}}, {{"y", DataType::kFp32, {-1, 10}}}};

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

inline Result<ConfigPtr> complete(const std::string& text, const Signature& signature) {
  RIDGE_ASSIGN(ConfigPtr config, parse_config_text(text, "m/config.pbtxt"));
  RIDGE_TRY(check_config(*config, "m"));
  return complete_config(*config, "m", signature);
}

inline Json completed_json(const std::string& text, const Signature& signature) {
  auto config = complete(text, signature);
  if (!config) ADD_FAILURE() << config.error().message;
  return config ? config_to_json(**config) : Json();
}

inline std::string rejection(const std::string& text, const Signature& signature = kImage) {
  auto config = complete(text, signature);
  return config ? "" : config.error().message;
}

inline ModelSettings settings(const std::string& text, const Signature& signature = kImage) {
  auto config = complete(text, signature);
  if (!config) ADD_FAILURE() << config.error().message;
  auto result = settings_of(**config, signature, 1, "/nowhere", 100);
  if (!result) ADD_FAILURE() << result.error().message;
  return *result;
}

}  // namespace ridge::serve
