# The engine that tests use, tests/unit/engine/fake: libridge_fake.so beside the program, which opens it for --engine
# fake. Not installed.
if(RIDGE_FUZZ)
  return()
endif()
file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/unit/engine/fake/*.cc")
set(tests ${sources})
list(FILTER tests INCLUDE REGEX "_test\\.cc$")
list(FILTER sources EXCLUDE REGEX "(_test|/plugin)\\.cc$")

add_library(ridge_fake_engine STATIC ${sources})
target_link_libraries(ridge_fake_engine PUBLIC ridge_engine_shared)
target_include_directories(ridge_fake_engine PUBLIC "${RIDGE_TEST_HEADERS}")
add_library(ridge_fake MODULE tests/unit/engine/fake/plugin.cc)
target_link_libraries(ridge_fake PRIVATE ridge_fake_engine)
target_link_options(ridge_fake PRIVATE -Wl,--exclude-libs,ALL)  # its copies of ridge's own code stay its own
set_target_properties(ridge_fake PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)

target_sources(engine_test PRIVATE ${tests})
foreach(program engine_test serve_test)
  target_link_libraries(${program} PRIVATE ridge_fake_engine)
endforeach()
foreach(program engine_test measure_test tune_test serve_test app_test)
  add_dependencies(${program} ridge_fake)
endforeach()
