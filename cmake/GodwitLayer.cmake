# A layer is one folder and one target. Its headers are found as "<layer>/file.hpp", but only by targets that
# link the layer: each gets an include directory of its own, so that an include against the arrows of
# docs/architecture.md does not compile.

add_library(godwit_flags INTERFACE)
target_compile_options(godwit_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
                       -Wnon-virtual-dtor -Woverloaded-virtual -Werror)
# The layers meet in one shared library whose own calls nobody replaces: let them be inlined.
target_compile_options(godwit_flags INTERFACE -fno-semantic-interposition)
if(GODWIT_SANITIZE)
  target_compile_options(godwit_flags INTERFACE -fsanitize=${GODWIT_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(godwit_flags INTERFACE -fsanitize=${GODWIT_SANITIZE})
  if(GODWIT_SANITIZE MATCHES "undefined")
    # Before each access: half of the code and a third of the time to compile. Null pointers are the address sanitizer's, too.
    target_compile_options(godwit_flags INTERFACE -fno-sanitize=null,alignment)
  endif()
  if(GODWIT_SANITIZE STREQUAL "thread")  # which knows no fences; locks do the ordering there
    target_compile_definitions(godwit_flags INTERFACE BOOST_ASIO_DISABLE_FENCED_BLOCK)
  endif()
  # GCC warns about fences in Boost.Asio under the thread sanitizer, and sees uninitialised memory in <regex>.
  target_compile_options(godwit_flags INTERFACE -Wno-tsan -Wno-maybe-uninitialized)
endif()
if(CMAKE_UNITY_BUILD)  # names of one file hide those of the file before it
  target_compile_options(godwit_flags INTERFACE -Wno-shadow)
endif()

# godwit_compile_alone(SOURCES...): files whose own names are also another file's. A unity build (the sanitizer presets:
# it halves their time) makes several files one and would not compile with them.
function(godwit_compile_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

add_library(godwit_public_headers INTERFACE)
target_include_directories(godwit_public_headers INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
target_compile_features(godwit_public_headers INTERFACE cxx_std_20)

# godwit_layer(NAME SOURCES ... [LINK ...]): object library godwit_NAME.
function(godwit_layer name)
  cmake_parse_arguments(LAYER "" "" "SOURCES;LINK" ${ARGN})
  set(view ${PROJECT_BINARY_DIR}/layers/${name})
  file(MAKE_DIRECTORY ${view})
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${view}/${name} SYMBOLIC)
  add_library(godwit_${name} OBJECT ${LAYER_SOURCES})
  target_include_directories(godwit_${name} PUBLIC ${view})
  target_link_libraries(godwit_${name} PUBLIC godwit_public_headers ${LAYER_LINK} PRIVATE godwit_flags)
endfunction()
