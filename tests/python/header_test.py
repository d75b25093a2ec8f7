"""ctypes believes what it is told: each struct, function and value of the package is that of the C headers."""
import ctypes
import re
import unittest

import support  # first

from coterie import Activity, Code, SecurityLevel, TrainOptions, _library, _structs

INCLUDE = support.ROOT / "device_sdk" / "include"
TEXT = re.sub(r"/\*.*?\*/", "", "".join((INCLUDE / name).read_text() for name in ("coterie.h", "coterie_train.h")), flags=re.S)
STRUCTS = {name: body for form in (r"typedef struct (coterie_\w+) \{(.*?)\n\} \1;", r"\nstruct (coterie_\w+) \{(.*?)\n\};")
           for name, body in re.findall(form, TEXT, re.S)}
FUNCTIONS = {name: (result, arguments) for result, name, arguments in
             re.findall(r"COTERIE_API ([\w ]+\*?) ?(coterie_\w+)\((.*?)\);", TEXT, re.S)}
ENUMS = "coterie_status|coterie_activity|coterie_hold|coterie_security_level|coterie_type|int"
SCALARS = {"size_t": ctypes.c_size_t, "uint64_t": ctypes.c_uint64, "uint32_t": ctypes.c_uint32, "double": ctypes.c_double,
           "float": ctypes.c_float, "int64_t": ctypes.c_int64, "int32_t": ctypes.c_int32}
NOT_BOUND = {
    "coterie_client_step",  # run is it, in a loop
    "coterie_activity_name", "coterie_hold_name", "coterie_security_level_name",  # enums have names in Python
    "coterie_http_reply_status", "coterie_http_reply_header", "coterie_http_reply_body",  # there is no transport in Python
    "coterie_client_certificate_is_due", "coterie_client_certificate_request", "coterie_client_take_certificate",
    "coterie_client_attestation_hash",  # phones renew; here the next Client is given the next certificate
    "coterie_set_log",  # nothing in the library has written a line yet
    "coterie_trainer_run",  # step in a loop of Python's, so that callbacks raise and ^C comes
    "coterie_examples_open", "coterie_examples_close", "coterie_examples_last_error", "coterie_examples_add",
    "coterie_examples_add_values", "coterie_examples_count", "coterie_examples_clear", "coterie_examples_dataset"}  # arrays are


def split(arguments):
    """At commas that are in no parentheses."""
    parts, depth = [""], 0
    for c in " ".join(arguments.split()):
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return [part.strip() for part in parts if part.strip() not in ("", "void")]


def shape_of(declaration):
    """What a declaration is in memory: "pointer", "function", "int", a scalar's or a struct's name, "bytes N"."""
    if "(*" in declaration:
        return "function"
    if array := re.search(r"(\w+)\[(\w+)\]$", declaration):
        return "bytes 65" if array[2] == "COTERIE_PUBLIC_KEY_BYTES_MAX" else declaration
    if "*" in declaration:
        return "pointer"
    kind = re.sub(r"^const ", "", declaration).split()[0]
    return "int" if re.fullmatch(ENUMS, kind) else kind


def fits(shape, kind):
    if shape == "pointer":
        return kind in (ctypes.c_char_p, ctypes.c_void_p) or issubclass(kind, ctypes._Pointer)
    if shape == "function":
        return issubclass(kind, ctypes._CFuncPtr)
    if shape == "int":
        return kind is ctypes.c_int
    if shape.startswith("bytes"):
        return kind._type_ is ctypes.c_uint8 and kind._length_ == int(shape.split()[1])
    return kind is SCALARS[shape] if shape in SCALARS else kind is struct_of(shape)


def struct_of(name):
    return getattr(_structs, "".join(word.capitalize() for word in name.removeprefix("coterie_").split("_")))


class Headers(unittest.TestCase):
    def test_structs_have_the_members_of_the_headers(self):
        bound = [name for name in STRUCTS if hasattr(_structs, struct_name := "".join(
            word.capitalize() for word in name.removeprefix("coterie_").split("_"))) and struct_name]
        self.assertEqual(set(STRUCTS) - set(bound), {"coterie_attestation", "coterie_http_header", "coterie_http_request",
                                                  "coterie_signer", "coterie_transport"})
        for name in bound:
            members = []
            for declaration in re.split(r";\s*", re.sub(r"\s+", " ", STRUCTS[name]).strip()):
                if "(*" in declaration:
                    members.append((re.search(r"\(\*(\w+)\)", declaration)[1], "function"))
                elif declaration:
                    first, *others = declaration.split(", ")
                    kind = first.rsplit(" ", 1)[0]
                    members += [(re.search(r"(\w+)(\[\w+\])?$", one)[1], shape_of(one if " " in one else f"{kind} {one}"))
                                for one in (first, *others)]
            fields = struct_of(name)._fields_
            self.assertEqual([member for member, _ in members], [field for field, _ in fields], name)
            for (member, shape), (_, kind) in zip(members, fields):
                self.assertTrue(fits(shape, kind), f"{name}.{member} is a {shape} in C, {kind} in Python")

    def test_functions_have_the_arguments_of_the_headers(self):
        self.assertEqual(set(FUNCTIONS) - set(_library.FUNCTIONS), NOT_BOUND)
        for name, (result, arguments) in _library.FUNCTIONS.items():
            wanted_result, wanted = FUNCTIONS[name]
            shape = shape_of(wanted_result)
            self.assertTrue(result is None if shape == "void" else fits(shape, result), f"{name} returns {wanted_result}")
            self.assertEqual(len(split(wanted)), len(arguments), name)
            for declaration, kind in zip(split(wanted), arguments):
                self.assertTrue(fits(shape_of(declaration), kind), f"{name}: {declaration} is {kind} in Python")

    def test_values_are_those_of_the_headers(self):
        for prefix, kind in (("COTERIE_ACTIVITY_", Activity), ("COTERIE_SECURITY_", SecurityLevel)):
            values = {name: int(value) for name, value in re.findall(prefix + r"(\w+) = (\d+)", TEXT)}
            self.assertEqual(values, {one.name: one.value for one in kind if one.name != "UNKNOWN"})
        statuses = re.search(r"enum coterie_status \{(.*?)\}", TEXT, re.S)[1]
        self.assertEqual({name: int(value) for name, value in re.findall(r"COTERIE_(\w+) = (\d+)", statuses)},
                         {one.name: one.value for one in Code})
        for one in Code:
            self.assertEqual(_library.lib.coterie_status_name(one), one.name.lower().encode())

    def test_every_option_of_training_is_an_argument(self):
        members = {name for name, _ in _structs.TrainOptions._fields_}
        counts = {name for name in members if name.endswith(("_count", "_key_size")) or name == "struct_size"}
        self.assertEqual(members - counts, set(TrainOptions.__annotations__))


if __name__ == "__main__":
    unittest.main(verbosity=2)
