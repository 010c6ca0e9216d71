// Bytes per token times requests are not bytes: the context is missing.
// expect: conversion from
#include "tokenroof/core/units.hpp"
using namespace tokenroof;
const BytesPerToken per_token = 327680 * byte / token;
#ifdef CONTROL
Bytes cache = per_token * (8192 * token / request) * (16 * request);
#else
Bytes cache = per_token * (16 * request);
#endif
