# ridge_folder(NAME [ONCE | WIRE] LINK target... [TEST_LINK target...] [EXCEPT subfolder...])
#   src/NAME/**.cc               -> static library ridge_NAME (main.cc of cli and lab stay out: they are the programs)
#   src/NAME/**_test.cc          -> test program NAME_test, each of its tests known to ctest, label "unit"
#   src/NAME/**_fuzz.cc          -> fuzz target, in the fuzz preset only
#   tests/unit/NAME/**.h         -> what these share: fakes and models, included as "NAME/x.h"
# Subfolders after EXCEPT are something else's sources. Files after SHARED are a library of their own,
# ridge_NAME_shared, for what links nothing else of the folder. ONCE: its code runs once for a user's command or waits
# for a device, so the time to compile it counts more than its speed (-Og: a third less than -O2). WIRE: what it does
# for a request is system calls and copies (-O1: a fifth less; a request takes the CPU time that it takes with -O2).
# Does nothing for a folder without sources. The libraries made so far are in RIDGE_FOLDERS.
include(GoogleTest)

set(RIDGE_FOLDERS "")
set(RIDGE_TEST_HEADERS "${PROJECT_SOURCE_DIR}/tests/unit")
if(RIDGE_SANITIZE MATCHES "fuzzer")
  set(RIDGE_FUZZ ON)
  add_custom_target(fuzz)
else()
  set(RIDGE_FUZZ OFF)
endif()

# Sources of a target are compiled RIDGE_UNITY at a time: most of a file's time goes into the headers that its
# neighbours read too. Names in anonymous namespaces are therefore unique in their folder, and a macro ends with its
# file. A source that cannot keep company says so in CMakeLists.txt. 0 compiles each by itself.
set(RIDGE_UNITY 12 CACHE STRING "How many sources of a folder are compiled together; 0: none")
function(ridge_several_at_a_time target)
  if(RIDGE_UNITY GREATER 1)
    set_target_properties(
      ${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE "${RIDGE_UNITY}" UNITY_BUILD_RELOCATABLE ON)
  endif()
endfunction()

function(ridge_folder name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "ONCE;WIRE" "" "LINK;TEST_LINK;EXCEPT;SHARED")
  set(folder "${PROJECT_SOURCE_DIR}/src/${name}")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${folder}/*.cc")
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS "${folder}/*.h")
  foreach(subfolder IN LISTS arg_EXCEPT)
    list(FILTER sources EXCLUDE REGEX "^${folder}/${subfolder}/")
  endforeach()
  set(tests ${sources})
  set(fuzzers ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER fuzzers INCLUDE REGEX "_fuzz\\.cc$")
  list(FILTER sources EXCLUDE REGEX "(_test|_fuzz|/(cli|lab)/main)\\.cc$")

  # The fuzz preset builds what parses outside input and its vocabulary, nothing else.
  if(RIDGE_FUZZ AND NOT fuzzers AND NOT name STREQUAL "base")
    return()
  endif()
  if(RIDGE_FUZZ AND name STREQUAL "serve")  # what needs engines is not linked
    list(FILTER sources INCLUDE REGEX "/config_(json|text)\\.cc$")
  endif()
  if(RIDGE_FUZZ)  # what serves connections is not linked
    foreach(serving IN ITEMS
            "client/(connection|exchange|server_target|grpc_protocol|http_protocol|inference_server|judgement)"
            "client/(server_url|token_figures)"
            "front/(access|control|describe|job_threads|log_settings|model_metrics|reloaded|text_metrics|tls)"
            "front/grpc/(api|call|infer_call|methods|reflection|stream_call|unary_call|unary_methods|watch_call)"
            "front/http/(api|completion_queue|deadline|describe|http1_connection|http2_connection|infer_endpoint)"
            "front/http/(io_thread|log_request|response_head|server|stream)"
            "front/openai/(answer|endpoint)")
      list(FILTER sources EXCLUDE REGEX "/${serving}\\.cc$")
    endforeach()
  endif()

  set(libraries "")
  foreach(library IN LISTS arg_LINK)
    if(NOT library MATCHES "^ridge_" OR TARGET "${library}")
      list(APPEND libraries "${library}")
    endif()
  endforeach()

  if(arg_SHARED)
    list(TRANSFORM arg_SHARED PREPEND "${folder}/")
    list(REMOVE_ITEM sources ${arg_SHARED})
    add_library(ridge_${name}_shared STATIC ${arg_SHARED})
    ridge_several_at_a_time(ridge_${name}_shared)
    target_include_directories(ridge_${name}_shared PUBLIC "${PROJECT_SOURCE_DIR}/src")
    target_link_libraries(ridge_${name}_shared PUBLIC ${libraries})
    list(APPEND libraries ridge_${name}_shared)
  endif()
  if(sources)
    add_library(ridge_${name} STATIC ${sources})
    ridge_several_at_a_time(ridge_${name})
    target_link_libraries(ridge_${name} PRIVATE ${libraries})
    if(arg_ONCE)
      target_compile_options(ridge_${name} PRIVATE -Og)
    elseif(arg_WIRE)
      target_compile_options(ridge_${name} PRIVATE -O1)
    endif()
  elseif(headers)
    add_library(ridge_${name} INTERFACE)
  else()
    return()
  endif()
  set(scope INTERFACE)
  if(sources)
    set(scope PUBLIC)
  endif()
  target_include_directories(ridge_${name} ${scope} "${PROJECT_SOURCE_DIR}/src")
  target_compile_definitions(ridge_${name} ${scope} RIDGE_VERSION="${PROJECT_VERSION}")
  # Headers show the types of the folders below, of fmt and of nlohmann-json; every other library stays in its folder.
  foreach(library IN LISTS libraries)
    if(library IN_LIST RIDGE_FOLDERS OR library MATCHES "^(fmt|nlohmann_json)::")
      target_link_libraries(ridge_${name} INTERFACE "${library}")
    endif()
  endforeach()
  list(APPEND RIDGE_FOLDERS ridge_${name})
  set(RIDGE_FOLDERS "${RIDGE_FOLDERS}" PARENT_SCOPE)

  if(tests AND NOT RIDGE_FUZZ)
    add_executable(${name}_test ${tests})
    ridge_several_at_a_time(${name}_test)
    target_link_libraries(${name}_test PRIVATE
                          ridge_${name} ${libraries} ${arg_TEST_LINK} GTest::gmock GTest::gtest_main)
    target_include_directories(${name}_test PRIVATE "${RIDGE_TEST_HEADERS}")
    target_compile_definitions(${name}_test PRIVATE RIDGE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    # A test's subject is in the library; its own code only costs time to compile (-40 %).
    target_compile_options(${name}_test PRIVATE -O0)
    gtest_discover_tests(
      ${name}_test
      TEST_PREFIX "${name}."
      NO_PRETTY_VALUES  # a parameter prints as addresses where it has no text
      DISCOVERY_MODE PRE_TEST
      DISCOVERY_TIMEOUT 60
      PROPERTIES LABELS unit TIMEOUT 300 ENVIRONMENT "RIDGE_DEPS=${RIDGE_DEPS};RIDGE_PROC_ROOT=/dev/null")
  endif()

  if(RIDGE_FUZZ)
    foreach(fuzzer IN LISTS fuzzers)
      get_filename_component(stem "${fuzzer}" NAME_WE)
      add_executable(${stem} "${fuzzer}")
      target_link_libraries(${stem} PRIVATE ridge_${name} ${libraries})
      target_include_directories(${stem} PRIVATE "${RIDGE_TEST_HEADERS}")
      target_link_options(${stem} PRIVATE -fsanitize=fuzzer)
      add_dependencies(fuzz ${stem})
    endforeach()
  endif()
endfunction()

# ridge_embed(TARGET HEADER FUNCTION GLOB...) puts the files that match a GLOB into TARGET as text. HEADER declares
#   std::string_view FUNCTION(std::string_view name);
# which returns the text of the file NAME.*, or nothing when there is none. Does nothing without TARGET (the fuzz
# preset).
function(ridge_embed target header function)
  if(NOT TARGET ${target})
    return()
  endif()
  string(REPLACE "::" "_" stem "${function}")
  set(output "${PROJECT_BINARY_DIR}/embedded/${stem}.cc")
  set(files "")
  foreach(glob IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH glob BASE_DIRECTORY "${PROJECT_SOURCE_DIR}")
    file(GLOB matching CONFIGURE_DEPENDS "${glob}")
    list(APPEND files ${matching})
  endforeach()
  set(script "${PROJECT_SOURCE_DIR}/cmake/embed.cmake")
  add_custom_command(
    OUTPUT "${output}"
    COMMAND "${CMAKE_COMMAND}" "-DOUTPUT=${output}" "-DHEADER=${header}" "-DFUNCTION=${function}" "-DFILES=${files}"
            -P "${script}"
    DEPENDS ${files} "${script}" "${PROJECT_SOURCE_DIR}/CMakeLists.txt"
    VERBATIM)
  target_sources(${target} PRIVATE "${output}")
  set_source_files_properties("${output}" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
