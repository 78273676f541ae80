#include "engine/fake/fake_decoder.h"
#include "engine/fake/fake_session.h"
#include "engine/fake_engine.h"

extern "C" __attribute__((visibility("default"))) const ridge::engine::FakeEngine* ridge_fake_engine() {
  static const std::string kBuilt = ridge::engine::build_id();
  static const ridge::engine::FakeEngine kEngine = {.built = kBuilt.c_str(),
                                                    .open = ridge::engine::fake::open_session,
                                                    .info = ridge::engine::fake::engine_info,
                                                    .open_decoder = ridge::engine::fake::open_decoder};
  return &kEngine;
}
