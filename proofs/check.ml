(* check FILE...: yes or no for each mechanism file.

   This part reads a file and hands its numbers to the checker that was extracted from the proofs. It is small, and not
   proven: what the text of a file means is defined in docs/api/file-format.md. Labels, notes, evidence and digests are not
   looked at. *)

open Checker

exception Malformed of string

let must holds what = if not holds then raise (Malformed what)

(* JSON *)

type json = Null | Bool of bool | Number of string | Text of string | List of json list | Object of (string * json) list

let digit c = c >= '0' && c <= '9'
let digits s = s <> "" && String.for_all digit s
let hexadecimal c = digit c || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')

(* An integer of JSON: a file has no other numbers. *)
let integer s =
  let s = if s <> "" && s.[0] = '-' then String.sub s 1 (String.length s - 1) else s in
  digits s && (s = "0" || s.[0] <> '0')

let parse text =
  let length = String.length text and at = ref 0 in
  let peek () = if !at < length then text.[!at] else '\000' in
  let rec blank () =
    match peek () with
    | ' ' | '\t' | '\n' | '\r' -> incr at; blank ()
    | _ -> () in
  let take word =
    let size = String.length word in
    must (!at + size <= length && String.sub text !at size = word) ("expected " ^ word);
    at := !at + size in
  let string () =
    take "\"";
    let content = Buffer.create 16 in
    let rec go () =
      must (!at < length && peek () >= ' ') "a text without end";
      let c = peek () in
      incr at;
      match c with
      | '"' -> Buffer.contents content
      | '\\' -> (* escapes beyond ASCII stay as they are: no name and no number has any *)
          let size = if peek () = 'u' then 5 else 1 in
          must (!at + size <= length && String.contains "\"\\/bfnrtu" (peek ())
                && String.for_all hexadecimal (String.sub text (!at + 1) (size - 1))) "no escape";
          let code = match peek () with
            | 'u' -> int_of_string ("0x" ^ String.sub text (!at + 1) 4)
            | ('"' | '\\' | '/') as c -> Char.code c
            | _ -> 128 in
          if code < 128 then Buffer.add_char content (Char.chr code)
          else Buffer.add_string content ("\\" ^ String.sub text !at size);
          at := !at + size;
          go ()
      | c -> Buffer.add_char content c; go () in
    go () in
  let rec value depth =
    blank ();
    must (depth < 32 || not (String.contains "[{" (peek ()))) "nested too deeply";
    match peek () with
    | '{' -> Object (items '}' (fun () ->
        blank ();
        let name = string () in
        blank ();
        take ":";
        (name, value (depth + 1))))
    | '[' -> List (items ']' (fun () -> value (depth + 1)))
    | '"' -> Text (string ())
    | 'n' -> take "null"; Null
    | 't' -> take "true"; Bool true
    | 'f' -> take "false"; Bool false
    | _ ->
        let start = !at in
        while (match peek () with '0' .. '9' | '-' | '+' | '.' | 'e' | 'E' -> true | _ -> false) do incr at done;
        let found = String.sub text start (!at - start) in
        must (integer found) "no JSON, or no whole number";
        Number found
  and items : 'a. char -> (unit -> 'a) -> 'a list = fun close item ->
    incr at;
    blank ();
    if peek () = close then (incr at; [])
    else
      let rec go found =
        let found = item () :: found in
        blank ();
        if peek () = ',' then (incr at; go found)
        else (take (String.make 1 close); List.rev found) in
      go [] in
  let found = value 0 in
  blank ();
  must (!at = length) "something after the end";
  found

let members = function
  | Object items ->
      let names = List.map fst items in
      must (List.length (List.sort_uniq compare names) = List.length names) "a member twice";
      items
  | _ -> raise (Malformed "no object")

let member items name = try List.assoc name items with Not_found -> raise (Malformed (name ^ " is missing"))
let list = function List items -> items | _ -> raise (Malformed "no list")
let text = function Text content -> content | _ -> raise (Malformed "no text")

(* Numbers *)

let rec positive n =
  if n = 1L then XH
  else
    let half = positive (Int64.shift_right_logical n 1) in
    if Int64.logand n 1L = 1L then XI half else XO half

let z n = if n = 0L then Z0 else Zpos (positive n)

let rec doubled times = function
  | Zpos p when times > 0 -> doubled (times - 1) (Zpos (XO p))
  | n -> n

(* A double that is at least 0, as mantissa * 2^exponent. *)
let double s =
  let mantissa, exponent = match String.split_on_char 'e' s with
    | [ m ] -> (m, None)
    | [ m; e ] -> (m, Some e)
    | _ -> raise (Malformed "no decimal") in
  let decimal = match String.split_on_char '.' mantissa with
    | [ whole ] -> exponent <> None && digits whole
    | [ whole; rest ] -> digits whole && digits rest
    | _ -> false in
  let signed = match exponent with
    | None -> true
    | Some e -> e <> "" && (e.[0] = '+' || e.[0] = '-') && digits (String.sub e 1 (String.length e - 1)) in
  must (decimal && signed) "no decimal";
  let x = float_of_string s in
  must (Float.is_finite x) "a number too large";
  let bits = Int64.bits_of_float x in
  let biased = Int64.to_int (Int64.shift_right_logical bits 52) in
  let fraction = Int64.logand bits 0xfffffffffffffL in
  if fraction = 0L && biased = 0 then (0L, 0)
  else if biased = 0 then (fraction, -1074)
  else (Int64.logor fraction 0x10000000000000L, biased - 1075)

(* Doubles over the common denominator 2^q. *)
let over q (mantissa, exponent) = doubled (exponent + q) (z mantissa)
let common doubles = List.fold_left (fun q (_, exponent) -> max q (-exponent)) 0 doubles

(* "0-3,7" *)
let rows n s =
  let number part =
    must (digits part && String.length part <= 8) "rows are not numbered";
    int_of_string part in
  List.concat_map
    (fun part ->
      let first, last = match String.split_on_char '-' part with
        | [ one ] -> (number one, number one)
        | [ first; last ] -> (number first, number last)
        | _ -> raise (Malformed "rows are not numbered") in
      must (first <= last && last < n) "there is no such row";
      List.init (last - first + 1) (fun k -> first + k))
    (String.split_on_char ',' s)

let column n groups =
  let weights = Array.make n Z0 in
  List.iter
    (fun group ->
      match list group with
      | [ Text weight; Text named ] ->
          must (digits weight && weight.[0] <> '0' && String.length weight <= 19) "no weight";
          let w = try Int64.of_string weight with Failure _ -> raise (Malformed "no weight") in
          List.iter
            (fun row ->
              must (weights.(row) = Z0) "a weight is given twice";
              weights.(row) <- z w)
            (rows n named)
      | _ -> raise (Malformed "no weight"))
    (list groups);
  weights

(* How many rows the columns have, and which of them each answer has: its own, or that of its block. *)
let rows_of_answers n = function
  | None -> (n, List.init n (fun i -> i))
  | Some blocks ->
      let block_of = Array.make n (-1) in
      List.iteri
        (fun block named ->
          List.iter
            (fun i ->
              must (block_of.(i) < 0) "an answer in two blocks";
              block_of.(i) <- block)
            (rows n (text named)))
        blocks;
      must (Array.for_all (fun block -> block >= 0) block_of) "an answer in no block";
      (List.length blocks, Array.to_list block_of)

let names =
  [ "bits"; "digest"; "epsilon"; "format"; "inputs"; "library"; "method"; "outputs"; "prior"; "prior_set";
    "realised_epsilon"; "version"; "weights" ]

let numbers document =
  let file = members document in
  let get = member file in
  must (get "format" = Text "extremal-mechanism") "not a mechanism file";
  let blocks = match get "version" with
    | Number "2" -> None
    | Number "3" -> Some (list (get "blocks"))
    | _ -> raise (Malformed "not a mechanism file of version 2 or 3") in
  let wanted = if blocks = None then names else "blocks" :: names in
  must
    (List.filter (fun name -> name <> "evidence" && name <> "file_digest") (List.sort compare (List.map fst file))
     = List.sort compare wanted)
    "a member that should not be there";
  must (get "bits" = Number "62") "not of 62 bits";
  let n = List.length (list (get "inputs")) and m = List.length (list (get "outputs")) in
  let count, row_of = rows_of_answers n blocks in
  must (count * m <= 1 lsl 24) "too large";
  let doubles value = List.map (fun x -> double (text x)) (list value) in
  let level = double (text (get "epsilon")) in
  let prior = doubles (get "prior") in
  let sets = match get "prior_set" with
    | Null -> None
    | set ->
        must (blocks = None) "blocks and a set of priors";
        let set = members set in
        must (List.sort compare (List.map fst set)
              = [ "center"; "confidence"; "description"; "lower"; "radius"; "upper" ]) "no set of priors";
        let part name = doubles (member set name) in
        Some (part "center", part "lower", part "upper", double (text (member set "radius"))) in
  let q = common (prior @ match sets with None -> [] | Some (c, l, u, r) -> (r :: c) @ l @ u) in
  let power = common [ level ] in
  must (List.length prior = n && List.length (list (get "weights")) = m) "its lists do not fit together";
  let natural n = z (Int64.of_int n) in
  let weights groups =
    let found = column count groups in
    List.map (fun row -> found.(row)) row_of in
  { level = over power level; power = natural power; denominator = doubled q (z 1L);
    masses = List.map (over q) prior;
    set_bounds = Option.map (fun (c, l, u, r) ->
      { centers = List.map (over q) c; lowers = List.map (over q) l; uppers = List.map (over q) u;
        movement = over q r }) sets;
    columns = List.map weights (list (get "weights")) }

let read name =
  let channel = open_in_bin name in
  Fun.protect ~finally:(fun () -> close_in channel) (fun () -> really_input_string channel (in_channel_length channel))

let verdict name =
  match numbers (parse (read name)) with
  | numbers -> if check numbers then "yes" else "no"
  | exception Malformed what -> "no: " ^ what
  | exception Sys_error what -> "no: " ^ what

let () =
  let names = List.tl (Array.to_list Sys.argv) in
  let said = List.map (fun name -> let said = verdict name in Printf.printf "%s\t%s\n%!" said name; said) names in
  exit (if List.for_all (( = ) "yes") said then 0 else 1)
