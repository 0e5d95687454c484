(* draw < LINES: the table of each row of weights, and the reports that words draw from it.

   A line is b, a tab, weights that sum to 2^62, a tab, and words of 64 bits, all separated by spaces. The answer is
   threshold:alias of each bucket as C stores it, a tab, the number of the report of each word, a tab, and these numbers
   again, drawn from the stored table. This part reads and writes; what is between was extracted from the proofs. *)

open Drawer

let rec positive n =
  if n = 1L then XH
  else
    let half = positive (Int64.shift_right_logical n 1) in
    if Int64.logand n 1L = 1L then XI half else XO half

(* Numbers below 2^64, as the bits of an Int64 *)
let z s = match Int64.of_string ("0u" ^ s) with 0L -> Z0 | n -> Zpos (positive n)

let rec bits = function
  | XH -> 1L
  | XO p -> Int64.shift_left (bits p) 1
  | XI p -> Int64.logor 1L (Int64.shift_left (bits p) 1)

let decimal = function
  | Z0 -> "0"
  | Zpos p -> Printf.sprintf "%Lu" (bits p)
  | Zneg _ -> failwith "negative"

let rec nat n = if n = 0 then O else S (nat (n - 1))
let int n =
  let rec go found = function O -> found | S n -> go (found + 1) n in
  go 0 n

let numbers text = List.map z (List.filter (( <> ) "") (String.split_on_char ' ' text))

let answer line = match String.split_on_char '\t' line with
  | [ b; weights; words ] ->
      let b = nat (int_of_string b) in
      let weights = numbers weights and words = numbers words in
      let bucket (threshold, alias) = Printf.sprintf "%s:%d" (decimal threshold) (int alias) in
      let drawn entries = List.map (fun word -> string_of_int (int (report b entries word))) words in
      let entries = stored b weights in
      String.concat "\t"
        (List.map (String.concat " ") [ List.map bucket entries; drawn (table b weights); drawn entries ])
  | _ -> failwith "a line has three parts"

let () =
  try
    while true do
      print_endline (answer (input_line stdin))
    done
  with End_of_file -> ()
